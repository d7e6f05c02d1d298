package server

import (
	"fmt"

	"petstore.example/internal/advice"
	"petstore.example/internal/server/config"
)

// databaseError names the variable that leads to the database, and says what to do.
func databaseError(c *config.Config, err error) error {
	return explained(config.SetBy(config.DatabaseVariable, c.DatabaseURLFile), err)
}

// explained names the variable that causes an error, and says what to do.
func explained(variable string, err error) error {
	do := advice.On(err)
	if do != "" {
		do = "; " + do
	}
	return fmt.Errorf("%s: %w%s", variable, err, do)
}
