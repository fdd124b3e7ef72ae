package config

import (
	"net/url"

	"github.com/mtlrent/conveyor/internal/notify"
)

// Notices is how news of saved searches are sent to persons.
type Notices struct {
	SMTPURL       string `env:"CONVEYOR_SMTP_URL" envDefault:"" secret:"url" doc:"mail server that sends the e-mails of saved searches: smtp://[user:password@]host[:587], which must offer STARTTLS unless it is on the loopback interface or ?tls=optional or ?tls=off is appended, or smtps://…[:465]; empty = no e-mail"`
	SMTPFrom      string `env:"CONVEYOR_SMTP_FROM" envDefault:"" doc:"sender of these e-mails, such as Homes <homes@example.org>; needed with CONVEYOR_SMTP_URL"`
	TelegramToken string `env:"CONVEYOR_TELEGRAM_TOKEN" envDefault:"" secret:"all" doc:"token of the Telegram bot that sends messages of saved searches; empty = no Telegram"`
	TelegramURL   string `env:"CONVEYOR_TELEGRAM_URL" envDefault:"https://api.telegram.org" doc:"URL of Telegram's bot API, without the bot; http:// on the loopback interface, or with CONVEYOR_DEMO" validate:"scheme=https http"`

	WebhookHosts []string `env:"CONVEYOR_WEBHOOK_PRIVATE_HOSTS" envDefault:"" doc:"host:port pairs on private networks that webhooks of saved searches may reach, by http too, by commas: for a demo, as every tenant may name them; all other webhooks are https on public networks" validate:"dive,hostport"`
}

// check tests the mail server and the bot, and that the bot's token does not travel in clear text.
func (n Notices) check(c Config) (wrong []string) {
	wrong = demoOnly("CONVEYOR_WEBHOOK_PRIVATE_HOSTS", n.WebhookHosts, c.Images.Demo)
	if n.SMTPURL != "" {
		if _, err := notify.NewMail(n.Mail(c.API.URL)); err != nil {
			wrong = append(wrong, "CONVEYOR_SMTP_URL, CONVEYOR_SMTP_FROM: "+err.Error())
		}
	}
	u, err := url.Parse(n.TelegramURL)
	if n.TelegramToken == "" || err != nil || u.Host == "" {
		return wrong // told already
	}
	if _, err := notify.NewTelegram(notify.TelegramOptions{Token: n.TelegramToken}); err != nil {
		wrong = append(wrong, "CONVEYOR_TELEGRAM_TOKEN: "+err.Error())
	} else if _, err := notify.NewTelegram(n.Telegram(c.API.URL)); err != nil {
		wrong = append(wrong, "CONVEYOR_TELEGRAM_URL: "+err.Error())
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) && !c.Images.Demo {
		wrong = append(wrong, "CONVEYOR_TELEGRAM_URL begins with http://, by which the bot's token would travel in clear text")
	}
	return wrong
}

// Mail are the options of a sender of e-mails, whose links lead to the API.
func (n Notices) Mail(api string) notify.MailOptions {
	return notify.MailOptions{URL: n.SMTPURL, From: n.SMTPFrom, Links: api}
}

// Telegram are the options of a sender by the bot, whose links lead to the API.
func (n Notices) Telegram(api string) notify.TelegramOptions {
	return notify.TelegramOptions{URL: n.TelegramURL, Token: n.TelegramToken, Links: api}
}
