// Package message is the vocabulary of messages to users and administrators: what is told, as values.
// Package notify makes them, package say turns them into text, package deliver sends them.
package message
