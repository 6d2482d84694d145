// Package reliability gathers the figures that campaigns printed (etc/campaign keeps
// what they said) into one table. It computes nothing: a figure of which there is
// no record is "not run here".
package reliability
