"""One file for each command; `kcli.cli` names them and imports the one that was asked for."""
