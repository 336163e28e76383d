"""What every command line needs: errors, help, parsing, pipes, flags, signals, files. It knows no resources."""
