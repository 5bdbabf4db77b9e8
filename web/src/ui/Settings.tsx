import { useStore } from "../session/store";
import { type Settings, settings } from "../settings";
import { language, languages, t } from "../texts";
import { Dialog } from "./Dialog";

const themes: [Settings["theme"], string][] = [
  ["system", t.settings.system],
  ["light", t.settings.light],
  ["dark", t.settings.dark],
];

export function SettingsDialog({ onClose }: { onClose(): void }) {
  const s = useStore(settings);
  return (
    <Dialog title={t.settings.title} onClose={onClose}>
      <fieldset class="choice">
        <legend>{t.settings.theme}</legend>
        {themes.map(([value, text]) => (
          <label key={value}>
            <input type="radio" name="theme" checked={s.theme === value} onChange={() => settings.patch({ theme: value })} />
            {text}
          </label>
        ))}
      </fieldset>
      <label class="check">
        {t.settings.language}
        <select
          data-setting="language"
          value={language}
          onChange={(e) => {
            settings.patch({ language: e.currentTarget.value });
            location.reload();
          }}
        >
          {Object.entries(languages).map(([code, name]) => (
            <option key={code} value={code} lang={code}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label class="check">
        <input type="checkbox" checked={s.sound} onChange={(e) => settings.patch({ sound: e.currentTarget.checked })} />
        {t.settings.sound}
      </label>
      <p class="faint">
        <a href="/_/THIRD_PARTY_LICENSES.txt">{t.settings.licences}</a>
      </p>
      <div class="buttons">
        <button type="button" class="main" onClick={onClose}>
          {t.settings.close}
        </button>
      </div>
    </Dialog>
  );
}
