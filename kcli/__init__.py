"""The command line: Click commands, one small file each, imported only when they are run."""
