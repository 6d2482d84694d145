// Package predict predicts the time of a step in configurations that were not measured, from
// those that were. A configuration is a number of GPUs, their split over nodes, their type, the
// batch, and the other jobs on the nodes.
//
// There are three forms of prediction: least squares over nonnegative terms, a small neural
// network (elastic/learn/network), and the seven parameters of Pollux (Qiao et al., OSDI 2021),
// with which the first two are compared. Cross-validation selects the form, separately for
// configurations inside the measured range and beyond it: a network is good at interpolation
// and bad at extrapolation. The package is pure and deterministic.
//
// The order of calls: Choose, with the forms to compare, the simplest first; then Seconds for each
// configuration. Choose tests the observations itself; a caller of Form.Fit MUST call Check BEFORE.
// Choose is slow, because it fits each form a dozen times; a Choice never changes, and any number of
// goroutines may use it. Observations come from one model: nothing here tells models apart.
package predict
