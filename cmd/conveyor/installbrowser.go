package main

import (
	"context"
	"fmt"
	"os"

	"github.com/mtlrent/conveyor/internal/devstack"
)

type installBrowserCmd struct {
	To        string `help:"Folder for Playwright's driver; set CONVEYOR_BROWSER_DRIVER to it for the roles. The default is the user's cache, where they look without that setting." type:"path"`
	NoInstall bool   `help:"Report missing tools instead of installing them."`
}

// Run installs Chromium and the driver where they are missing, and prints the settings for them.
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
