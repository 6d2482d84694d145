// Package say turns reasons into English: the one place with sentences about decisions.
// It is pure; times are said in the zone of the moment at which they are read.
package say
