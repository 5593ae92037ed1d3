"""What Inspan is compared with: programs that are installed at an exact version, and servers that are written here."""
