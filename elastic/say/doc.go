// Package say turns reasons into English. It is the only place with sentences about decisions.
// It is pure; times are in the zone of the time at which the sentence is read.
package say
