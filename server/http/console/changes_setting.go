package console

import (
	"net/http"
	"net/url"

	"github.com/scoreboard/scoreboard/client/wire"
)

// settingChanges change settings that are live.
func settingChanges() []*change {
	setting := field{Name: "name", Label: "Setting", Kind: "hidden"}
	list := func(v url.Values) string { return Root + "/settings?name=" + url.QueryEscape(v.Get("name")) }
	return []*change{
		{
			name:    "setting-set",
			title:   "Change setting",
			verb:    "Change setting",
			section: "settings",
			action:  "setting.set",
			intro:   "Changes the setting on all nodes while they run.",
			done:    "The setting is changed.",
			fields:  []field{setting, {Name: "value", Label: "New value", Kind: "text", Required: true}},
			effect: func(v url.Values) string {
				return v.Get(
					"name",
				) + " becomes " + v.Get(
					"value",
				) + " on all nodes, within seconds and without a restart."
			},
			dryRun:  currentSetting,
			command: func(v url.Values) []string { return []string{"settings", "set", v.Get("name"), v.Get("value")} },
			request: func(v url.Values) (request, error) {
				value := v.Get("value")
				return request{
					ids:  []string{v.Get("name")},
					body: wire.SettingRequest{Value: &value, Reason: v.Get(reasonField)},
				}, nil
			},
			back: list,
		},
		{
			name:    "setting-reset",
			title:   "Reset setting",
			verb:    "Reset setting",
			section: "settings",
			action:  "setting.set",
			intro:   "Returns to the deployed value on all nodes.",
			done:    "The setting has its deployed value again.",
			fields:  []field{setting},
			effect: func(v url.Values) string {
				return v.Get("name") + " returns to the value each node was deployed with."
			},
			dryRun:  currentSetting,
			command: func(v url.Values) []string { return []string{"settings", "set", "--reset", v.Get("name")} },
			request: func(v url.Values) (request, error) {
				return request{
					ids:  []string{v.Get("name")},
					body: wire.SettingRequest{Reset: true, Reason: v.Get(reasonField)},
				}, nil
			},
			back: list,
		},
	}
}

// currentSetting shows the setting that a change would replace.
func currentSetting(k *call, v url.Values) ([]fact, error) {
	var all wire.Settings
	if err := k.get("/v1/admin/settings", nil, &all); err != nil {
		return nil, err
	}
	for _, s := range all.Settings {
		if s.Name == v.Get("name") {
			return []fact{
				{"Meaning", text(s.Meaning)}, {"Current value", code(s.Value)}, {"From", text(s.Source)},
			}, nil
		}
	}
	return nil, &failure{
		Status:  http.StatusNotFound,
		Code:    "not_found",
		Message: "There is no such setting.",
		Next:    nextSteps["not_found"],
	}
}
