"""One module a command; each holds a click command named `command` and imports what it runs only when it runs."""
