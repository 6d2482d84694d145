// Package present is what the list of jobs, the terminal screen and the pages of sluice show
// of a job, in one form: its fields and their columns, filters, orders, and short texts. All
// functions are pure; texts of other users are not escaped here (terminal.Escape).
package present
