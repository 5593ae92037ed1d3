"""Records: what lines of a harness mean, by the rules of its manifest; shared by the transports that read rules."""
