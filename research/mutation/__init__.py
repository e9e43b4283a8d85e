"""Do the tests notice when the code is wrong? Small faults are put in, one by one, to see."""
