"""Pages about SillyTavern's folders."""
