// Package convert makes an sbatch script, and a plain PyTorch DDP program, elastic: as a proposal for
// 'sluice init'. What it does not understand it leaves alone, and says so in a note. It is pure.
package convert
