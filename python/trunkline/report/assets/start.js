startTheme();
startTables();
startPaths();
startReplay();
startCharts();
