"""What any other room may use: checks of arguments, messages, progress, threads, digits."""
