// Package screen is the terminal screen of 'sluice top': a model, how it changes with messages, and
// its frame as text. It has no effects of its own: Update returns them as values, and time comes with
// messages. Text of other users is escaped before it is in a frame.
package screen
