package campaign_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

func TestTiers(t *testing.T) {
	t.Parallel()

	require.Equal(t, 10, campaign.Standard.PerSecond())
	require.Equal(t, 50, campaign.Enterprise.PerSecond())
	for _, tier := range campaign.Tiers {
		got, err := campaign.ParseTier(string(tier))
		require.NoError(t, err)
		require.Equal(t, tier, got)
	}
	_, err := campaign.ParseTier("gold")
	class, _ := fault.Of(err)
	require.Equal(t, fault.Invalid, class)
}

func TestCounts(t *testing.T) {
	t.Parallel()

	c := campaign.Counts{Waiting: 1, Unknown: 2, Sent: 4, Delivered: 8, Read: 16, Failed: 32, Skipped: 64}
	require.Equal(t, []int64{127, 28}, []int64{c.Total(), c.Accepted()})
	require.Equal(t, "127 messages: 28 accepted, 32 failed, 64 skipped, 2 unknown, 1 waiting", c.String())
}

// Every pair of states is looked at: a move that is not in the table is none.
func TestStates(t *testing.T) {
	t.Parallel()

	may := map[[2]campaign.State]bool{
		{campaign.Draft, campaign.Queued}: true, {campaign.Draft, campaign.Canceled}: true,
		{campaign.Queued, campaign.Draft}: true, {campaign.Queued, campaign.Running}: true,
		{campaign.Queued, campaign.Canceled}: true, {campaign.Running, campaign.Paused}: true,
		{campaign.Running, campaign.Done}: true, {campaign.Running, campaign.Canceled}: true,
		{campaign.Paused, campaign.Running}: true, {campaign.Paused, campaign.Canceled}: true,
		{campaign.Done, campaign.Running}: true,
	}
	for _, from := range campaign.States {
		for _, to := range campaign.States {
			require.Equal(t, may[[2]campaign.State{from, to}], from.May(to), "%s to %s", from, to)
		}
	}
	require.Equal(t, []campaign.State{campaign.Queued, campaign.Paused, campaign.Done}, campaign.From(campaign.Running))
	require.False(t, campaign.State("gone").May(campaign.Running))
}

func TestApply(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name           string
		is, said, want campaign.Status
	}{
		{"the answer was lost", campaign.MessageUnknown, campaign.MessageSent, campaign.MessageSent},
		{"before the answer is recorded", campaign.MessageSending, campaign.MessageDelivered, campaign.MessageDelivered},
		{"an attempt that seemed to fail", campaign.MessageQueued, campaign.MessageSent, campaign.MessageSent},
		{"forwards", campaign.MessageSent, campaign.MessageDelivered, campaign.MessageDelivered},
		{"over one", campaign.MessageSent, campaign.MessageRead, campaign.MessageRead},
		{"late", campaign.MessageRead, campaign.MessageDelivered, campaign.MessageRead},
		{"twice", campaign.MessageDelivered, campaign.MessageDelivered, campaign.MessageDelivered},
		{"failed", campaign.MessageSent, campaign.MessageFailed, campaign.MessageFailed},
		{"failed in part", campaign.MessageDelivered, campaign.MessageFailed, campaign.MessageFailed},
		{"after a failure", campaign.MessageFailed, campaign.MessageRead, campaign.MessageFailed},
		{"of one that was skipped", campaign.MessageSkipped, campaign.MessageSent, campaign.MessageSkipped},
		{"no report", campaign.MessageSent, campaign.MessageQueued, campaign.MessageSent},
		{"a state that is not known", campaign.MessageSent, "played", campaign.MessageSent},
	} {
		require.Equal(t, tt.want, tt.is.Apply(tt.said), tt.name)
	}
}

// What a set of reports makes of a message does not depend on their order, nor on how often each came.
func TestApplyInAnyOrder(t *testing.T) {
	t.Parallel()

	for _, start := range campaign.Statuses {
		for set := range 1 << len(campaign.Reported) {
			var said []campaign.Status
			for i, s := range campaign.Reported {
				if set&(1<<i) != 0 {
					said = append(said, s)
				}
			}
			results := map[campaign.Status]bool{}
			permute(said, func(order []campaign.Status) {
				s := start
				for _, r := range append(order, order...) {
					s = s.Apply(r)
				}
				results[s] = true
			})
			require.Len(t, results, 1, "%s and %v: %v", start, said, results)
		}
	}
}

func permute[T any](list []T, visit func([]T)) {
	if len(list) == 0 {
		visit(nil)
	}
	for i, x := range list {
		rest := append(append([]T{}, list[:i]...), list[i+1:]...)
		permute(rest, func(order []T) { visit(append([]T{x}, order...)) })
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()

	many := func(tenant string, n int) (list []string) {
		for range n {
			list = append(list, tenant)
		}
		return list
	}
	for _, tt := range []struct {
		name    string
		tenants []string // of the ready campaigns, in order
		want    []int    // which of them
	}{
		{"none", nil, nil},
		{"one", many("a", 1), []int{0}},
		{"at most two of a tenant", many("a", 50), []int{0, 1}},
		{"round robin", []string{"a", "a", "a", "b", "b", "c"}, []int{0, 3, 5, 1, 4}},
		{"a flood does not hold up the others", append(many("a", 40), "b", "c", "d"), []int{0, 40, 41, 42, 1}},
		{"five tenants fill a cycle", []string{"a", "a", "b", "b", "c", "c", "d", "d", "e", "e", "f"},
			[]int{0, 2, 4, 6, 8, 10, 1, 3, 5, 7}},
		{"at most ten, the first of each tenant", []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "a"},
			[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"only fifty are looked at", append(many("a", 50), "b"), []int{0, 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			var ready, want []campaign.Ready
			for i, tenant := range tt.tenants {
				ready = append(ready, campaign.Ready{ID: uuid.UUID{byte(i)}, Tenant: tenant, ScheduledAt: time.Unix(int64(i), 0)})
			}
			for _, i := range tt.want {
				want = append(want, ready[i])
			}
			require.Equal(t, want, campaign.Select(ready))
		})
	}
}

func TestAudience(t *testing.T) {
	t.Parallel()

	list := campaign.Groups{Lists: []uuid.UUID{{1}}}
	for _, tt := range []struct {
		name     string
		audience campaign.Audience
		wrong    string
	}{
		{"nothing is not everything", campaign.Audience{}, "to: names no list"},
		{"only an exception", campaign.Audience{Except: list}, "to: names no list"},
		{"all", campaign.Audience{All: true}, ""},
		{"all but some", campaign.Audience{All: true, Except: list}, ""},
		{"a list", campaign.Audience{To: list}, ""},
		{"both", campaign.Audience{All: true, To: list}, "all: is true beside to"},
		{"an empty tag", campaign.Audience{To: campaign.Groups{Tags: []string{" "}}}, "to.tags: has an empty tag"},
		{"a filter", campaign.Audience{All: true, Filter: &contact.Filter{Tag: "vip"}}, ""},
		{"a filter alone", campaign.Audience{Filter: &contact.Filter{Tag: "vip"}}, "to: names no list"},
		{"a wrong filter", campaign.Audience{All: true, Filter: &contact.Filter{Any: []contact.Filter{{}}}}, "filter: any[0]"},
		{"too many", campaign.Audience{To: campaign.Groups{Lists: make([]uuid.UUID, 101)}}, "to.lists: has 101 entries"},
	} {
		err := tt.audience.Check()
		if tt.wrong == "" {
			require.NoError(t, err, tt.name)
			continue
		}
		require.ErrorContains(t, err, tt.wrong, tt.name)
		class, _ := fault.Of(err)
		require.Equal(t, fault.Invalid, class)
	}
}

// An audience is bounded as a whole, with the conditions of its segments.
func TestAudienceConditions(t *testing.T) {
	t.Parallel()
	many := contact.Filter{Not: &contact.Filter{Any: slices.Repeat([]contact.Filter{{Tag: "a"}}, 50)}}
	segments, a := map[uuid.UUID]contact.Filter{}, campaign.Audience{Except: campaign.Groups{Lists: make([]uuid.UUID, 1)}}
	for n := range byte(campaign.MaxConditions / 50) {
		id := uuid.UUID{n + 1}
		segments[id], a.To.Segments = many, append(a.To.Segments, id)
	}
	_, err := a.Contacts(segments)
	require.ErrorContains(t, err, "has 1001 conditions")
	class, _ := fault.Of(err)
	require.Equal(t, fault.Invalid, class)
	a.Except = campaign.Groups{}
	_, err = a.Contacts(segments)
	require.NoError(t, err)

	// No audience that names groups alone has more conditions: a hundred of each kind, and a filter.
	groups := campaign.Groups{
		Lists: make([]uuid.UUID, 100), Segments: make([]uuid.UUID, 100), Tags: slices.Repeat([]string{"a"}, 100),
	}
	filter := contact.Filter{Any: slices.Repeat([]contact.Filter{{Tag: "a"}}, 49)}
	require.NoError(t, campaign.Audience{To: groups, Except: groups, Filter: &filter}.Check())
}

func TestAudienceContacts(t *testing.T) {
	t.Parallel()

	list, segment, gone := uuid.UUID{1}, uuid.UUID{2}, uuid.UUID{3}
	vip, quebec := contact.Filter{Tag: "vip"}, contact.Filter{Field: "city", Equals: new("Québec")}
	segments := map[uuid.UUID]contact.Filter{segment: quebec}
	inList := contact.Filter{List: list.String()}
	for _, tt := range []struct {
		name     string
		audience campaign.Audience
		want     contact.Filter
	}{
		{"all", campaign.Audience{All: true}, contact.Filter{}},
		{"one of them", campaign.Audience{To: campaign.Groups{
			Lists: []uuid.UUID{list}, Segments: []uuid.UUID{segment}, Tags: []string{"vip"},
		}}, contact.Filter{All: []contact.Filter{{Any: []contact.Filter{inList, quebec, vip}}}}},
		{"of all, those", campaign.Audience{All: true, Filter: &vip}, contact.Filter{All: []contact.Filter{vip}}},
		{"but not", campaign.Audience{
			To: campaign.Groups{Tags: []string{"vip"}}, Except: campaign.Groups{Segments: []uuid.UUID{segment}},
		}, contact.Filter{All: []contact.Filter{
			{Any: []contact.Filter{vip}}, {Not: &contact.Filter{Any: []contact.Filter{quebec}}},
		}}},
	} {
		got, err := tt.audience.Contacts(segments)
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, got, tt.name)
	}
	_, err := campaign.Audience{All: true, Except: campaign.Groups{Segments: []uuid.UUID{gone}}}.Contacts(segments)
	require.ErrorContains(t, err, "there is no segment")
}

func TestIsOptOut(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]bool{
		"STOP": true, " stop. ": true, "Arrêt": true, "ARRET": true, "ARRE\u0302T": true, "arrêter !": true,
		"Se désabonner": true, "Stop promotions": true, "Opt-out": true, "BAJA": true, "Descadastrar": true,
		"«Stop»": true, "Unsubscribe": true, "REVOKE": true, "Stop. Thank you": true, "please STOP": true,
		"Hello, please stop, thanks 🙏🏽": true, "Bonjour, arrêtez s’il vous plaît. Merci beaucoup !": true, "Merci, stop svp": true,
		"No thanks. Unsubscribe": true, "Por favor, baja. Gracias": true, "Me désabonner, merci": true, "Sair, obrigada": true,
		"Thank you": false, "thanks, please": false, "Please stop by tomorrow, thanks": false, "Stop it, please": false,
		"Thank you, I cannot stop laughing": false, "Please revoke my lease": false, "Is the bus stop near? Merci": false,
		"Hello! When does it end? Thanks": false, "fin de semana, gracias": false, "please please please": false,
		"ＳＴＯＰ": true, "𝗦𝗧𝗢𝗣": true, "st\u200Bop": true, "S.T.O.P": true, "stop stop STOP!": true, "Unsubscribe me, please": true,
		"Please stop sending me messages": true, "Désabonnez-moi svp": true, "Quiero darme de baja": true, "Pare, por favor": true,
		"Arrête": true, "Arrête de m'écrire stp": true, "N’écris plus": false, "Ne m’écris plus": true, "Stop pub": true,
		"STOP SMS": true, "Take me off your list": true, "Please don’t contact me": true, "Do not contact me": true,
		"Plus de message, merci": true, "Ne me contactez plus.": true, "Cancelar": true, "No me escriban más": true,
		"please do not unsubscribe me": false, "Stop sending me messages about the other flat": false, "a b c": false,
		"STOP/ARRÊT": true, "Stop. Unsubscribe.": true, "Stop! Remove me from your list.": true, "Arrêt, stop svp": true,
		"REMOVE": true, "I want to unsubscribe": true, "I would like to opt out, please": true, "Ok stop": true,
		"I'd like to unsubscribe": true, "Can you please unsubscribe me?": true, "How do I unsubscribe?": true,
		"Please unsubscribe me from this list": true, "Remove me from this list": true, "Stop all messages": true,
		"Don't message me anymore": true, "Dont text me again": true, "No more texts please": true, "Stop alerts": true,
		"Stop sending me texts": true, "I want to stop receiving your messages": true, "Merci de me désabonner": true,
		"Je souhaite me désabonner": true, "Je voudrais me désinscrire svp": true, "Veuillez me désabonner": true,
		"Je ne veux plus recevoir de messages": true, "Je ne veux plus recevoir vos messages, merci": true,
		"Enlevez-moi de votre liste": true, "Arrêtez de m'envoyer des messages": true, "D'accord, arrêtez": true,
		"Arrêtez les alertes": true, "Comment me désabonner ?": true, "Quisiera darme de baja": true,
		"No quiero recibir más mensajes": true, "Dejen de escribirme": true, "Quero me descadastrar": true,
		"Bonjour, pourriez-vous s'il vous plaît me désabonner de votre liste ? Merci beaucoup et bonne journée": true,
		"I want to cancel": false, "I want to cancel my visit": false, "Non stop": false, "nonstop": false, "No pare": false,
		"Can you stop by?": false, "Ok": false, "Ok thanks": false, "stop start": false, "Can you remove the stove?": false,
		"Je veux arrêter mon bail": false, "Can you": false, "messages": false, "Je veux recevoir des messages": false,
		"I would like to receive messages": false, "Ok, cancel": false, "How do I end the lease?": false,
		"Stop. Can you": false, "stop and start": false, "and": false, "Je veux me retirer": false,
		"Je souhaite me retirer de votre liste": true, "Quiero la planta baja": false, "D'accord, fin mai": false,
		"unsubscribe or not": false, "Je veux plus recevoir de messages": false,
		"Fin de message": false, "Fin de la liste": false, "Fin de la lista": false, "Fin des messages": false, "Baja ya": false,
		"Baja ahora": false, "Sair agora": false, "Sair da lista": false, "End now": false, "End messages": false,
		"I need to stop now, bye": false, "Can I stop now?": false, "May I stop?": false, "Can you stop now": false,
		"I need to stop": false, "Baja, vale": false, "Vale, baja": false, "Cancel ok": false, "Remove the messages": false,
		"Cancel now": false, "Can you cancel now?": false, "Can you remove": false, "¿Y baja?": false, "stop and": false,
		"Cancel from the list": false, "Okay": false, "d'accord": false, "messages ok": false, "Arrêt de la ligne": false,
		"STOP ok": true, "Stop, d’accord": true, "Stop. Vale, gracias": true, "Okay, okay, unsubscribe": true,
		"Cancel all messages": true, "Remove from your list, please": true, "Arrêt des messages": true, "Stop now": true,
		"Je veux arrêter les messages": true, "How do I stop your messages?": true, "Arrêtez maintenant": true,
		"Ok, can you unsubscribe me now?": true, "Cancelar mensajes": true, "Quiero parar los mensajes": true,
		"": false, "stop by tomorrow": false, "don't stop": false, "start": false, "arrêt de bus": false, "👋": false,
	} {
		require.Equal(t, want, campaign.IsOptOut(text), text)
	}
	for title, want := range map[string]bool{
		"Remove": false, "REMOVE!": false, "Keep": false, "Remove me": true, "Stop": true, "Cancel": true,
	} {
		require.Equal(t, want, campaign.IsOptOutTitle(title), title)
	}
	for text, want := range map[string]bool{
		"Start": true, "start, thanks": true, "cancel messages": false, "stop": false, "remove from list": false, "ok": false,
	} {
		require.Equal(t, want, campaign.IsOptIn(text), text)
	}
	for payload, want := range map[string]bool{
		"STOP": true, "stop_promotions": true, "OPT_OUT": true, "UNSUBSCRIBE": true, "CANCEL": false, "end": false,
		"STOP_1": false, "stop-button": false, "yes": false, "": false, "Stop!": true, "optOut": true, "désabonner": true,
		"me_desinscrire": true, "darme-de-baja": true, "CANCEL!": false, "cancel_please": false, "Arrêt": false, "arret": false,
		"baja": false, "pare": false, "fin.": false, "stop_please": false, "remove me": false,
	} {
		require.Equal(t, want, campaign.IsOptOutPayload(payload), payload)
	}
}
