package main

import (
	"fmt"
	"time"
)

// restartPrice is what --restart says.
type restartPrice struct {
	fixed   time.Duration
	byModel bool
}

// parseRestart reads a duration or the word model.
func parseRestart(text string) (restartPrice, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > 24*time.Hour {
		return restartPrice{}, fmt.Errorf("--restart %q: want a time such as 30s, at most 24h, or model", text)
	}
	return restartPrice{fixed: d}, nil
}
