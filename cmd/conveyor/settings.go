package main

import (
	"os"

	"github.com/mtlrent/conveyor/cli"
	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/workflows"
)

// settings reads the configuration from the environment.
func settings() (config.Config, error) { return config.Load(workflows.QueueNames()) }

// connect returns a client of the API at CONVEYOR_API_URL, with the key in CONVEYOR_API_KEY.
func connect() (cli.Client, error) {
	c, err := settings()
	return cli.Client{URL: c.API.URL, Key: c.API.Key}, err
}

type configCmd struct{}

// Run prints the configuration.
func (configCmd) Run() error {
	c, err := settings()
	if err != nil {
		return err
	}
	return c.Print(os.Stdout)
}
