package main

import (
	"context"
	"fmt"
	"os"

	"github.com/mtlrent/conveyor/internal/devstack"
)

type installBrowserCmd struct {
	To        string `help:"Folder for Playwright's driver; CONVEYOR_BROWSER_DRIVER names it to the roles. Default: this user's cache, where they look." type:"path"`
	NoInstall bool   `help:"Say what is missing instead of installing it."`
}

// Run installs what is missing and prints the settings that lead to it.
func (c *installBrowserCmd) Run(ctx context.Context) error {
	chromium, driver, err := devstack.InstallBrowser(ctx, devstack.BrowserOptions{
		Dir: c.To, NoInstall: c.NoInstall, Out: os.Stderr,
	})
	if err != nil {
		return interrupted(ctx, err)
	}
	fmt.Printf("CONVEYOR_BROWSER=%s\nCONVEYOR_BROWSER_DRIVER=%s\n", chromium, driver)
	return nil
}
