// Package wire is the protocol between sluice-vaultd and its clients: the JSON of requests and
// answers, and the codes of errors. A connection carries one request: one line of JSON of at most
// MaxRequest bytes, then ScriptSize and BundleSize raw bytes. The answer is one line of JSON of at
// most MaxAnswer bytes, then Size raw bytes. The kernel says who asks (SO_PEERCRED). The package has types and
// their reading only, so that a client links nothing of the vault.
package wire
