// Package step is srun inside of the fences of a confined job on several nodes. Slurm is not reached from
// there: the stand-in starts the first node's task itself and asks a server in each other fence to start
// that node's, over the network that only these fences share. So all that the tasks print leaves by the one
// gate of the first node. Who connects is not asked: inside, everything is the same program.
package step
