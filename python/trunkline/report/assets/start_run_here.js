startRunHere();
