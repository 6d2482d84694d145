// Package space has the parameters of a sweep, and the points between which it searches.
//
// A parameter is written as after `#SLUICE --param`: lr=log:1e-5:1e-1, x=float:0:1:0.1,
// depth=int:2:8, width=logint:16:1024, opt=choice:sgd,adamw, seed=fixed:1, and name=value for
// fixed:value. " if opt=sgd" after it makes the parameter conditional: points with another opt do
// not have it. Constraint is the form of `--where 'depth*width<4096'`, Given that of
// `--try lr=1e-3,depth=4`.
//
// A Value has one text, and its number is what this text says: numbers are rounded when a value
// is made. So a value is the same on a command line, in the environment, in JSON and in a
// comparison of two points. Every error of this package is an *Error with a column.
package space
