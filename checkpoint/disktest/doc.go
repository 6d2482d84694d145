// Package disktest shows a test every call by which a program changes files, right
// before the kernel carries it out, so that the call can be made to fail, something
// can be put in its way, or what a power loss would leave behind can be worked out.
package disktest
