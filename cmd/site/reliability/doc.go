// Package reliability collects the figures that campaigns printed (etc/campaign keeps
// their output) in one table. It computes nothing: a figure without a record is "not run
// here".
package reliability
