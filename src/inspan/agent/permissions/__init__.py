"""What may run: modes, rules, questions and the one record of each decision."""
