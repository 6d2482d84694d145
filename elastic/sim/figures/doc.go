// Package figures measures the policies: it runs all simulations of the figures, and prints
// for each result a line with the workload, the seeds, the information that the policy had
// and the rules, beside the published value and the goal.
package figures
