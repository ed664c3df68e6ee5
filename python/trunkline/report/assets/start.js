startTheme();
startTables();
startPaths();
startReplay();
startCharts();
startPrinting();
