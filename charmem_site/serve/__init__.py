"""The one command: a small supervisor with web and worker as children (stack-notes §4.2). Holds no Django."""
