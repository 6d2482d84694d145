// Package page is the pages of sluice web: handlers, templates, style and script. It asks sluiced
// through Daemon, gives orders through Orders, and knows the time only as a function that it is
// given. Everything it shows of other users is escaped and cut by the templates' functions.
package page
