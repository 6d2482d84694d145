// Package bundle moves files between a user and sluice-vaultd as tar archives: the code of a confined job on its
// way in, its results on their way out. Nothing in an archive is believed, and no link is followed.
package bundle
