// Package reach finds the sluiced that a program asks: the site's configuration by the options
// --config and --user, and a client for its socket or its address. All of sluice's programs find the
// same one.
package reach
