// Package draw draws sluice's pictures as SVG: lanes of jobs over time, curves, axes and the
// GPUs of nodes. The page of "sluice simulate" and those of "sluice web" have the same drawings.
// What it writes is escaped, needs no script and no style attributes; Style colours it.
package draw
