"""The console: a Textual application that reads, and never writes, one data folder."""
