// Package space has the parameters of a sweep, and the points between which it searches.
//
// A parameter is written as after `#SLUICE --param`: lr=log:1e-5:1e-1, x=float:0:1:0.1,
// depth=int:2:8, width=logint:16:1024, opt=choice:sgd,adamw, seed=fixed:1, and name=value for
// fixed:value. " if opt=sgd" after it makes the parameter conditional: points with another opt do
// not have it. Constraint is the form of `--where 'depth*width<4096'`, Given that of `--try
// lr=1e-3,depth=4`.
//
// A Value has one text, and its number is what this text says: numbers are rounded when a value is
// made. So a value is the same on a command line, in the environment, in JSON and in a comparison
// of two points. Every error of this package is an *Error with a column.
//
// A Space is made once, by Parse or New, and is only read after that, so any number of goroutines
// may use it at once. The generator that Random and Complete draw from belongs to one goroutine.
// Texts MUST be read in this order: all `--param` and `--where` together (Parse), THEN each `--try`
// (Given), since only the space knows the kind of a parameter and whether it exists beside the
// others.
//
// A point of a space comes from At, Random, Complete or Grid. At alone may return one that the
// constraints reject: its caller MUST ask Satisfies BEFORE the point is tried. ReadPoint reads a
// point without a space; Holds says whether the space still has it.
package space
