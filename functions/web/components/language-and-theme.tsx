import { locales } from "../../../shared/locales.ts";
import { messagesOf } from "../../words/index.ts";
import { useVisit } from "../rendering.ts";
import { themes } from "../visit.ts";
import { Button } from "./button.tsx";

/** A form that submits itself with JavaScript. WebKit restores selects on Back unless the form forbids it. */
export const LanguageAndTheme = ({ returnTo }: { returnTo: string }) => {
  const visit = useVisit();
  const { nav } = visit.messages;
  const names = { light: nav.themeLight, dark: nav.themeDark };
  return (
    <form
      class="preferences"
      method="post"
      action="/preferences"
      autocomplete="off"
      data-turbo="false"
      data-island="send-on-change"
    >
      <input type="hidden" name="return_to" value={returnTo} />
      <label>
        <span>{nav.language}</span>
        <select name="lang">
          {locales.map((locale) => (
            <option value={locale} lang={locale} selected={locale === visit.locale}>
              {messagesOf(locale).language}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>{nav.theme}</span>
        <select name="theme">
          <option value="system" selected={!visit.theme}>
            {nav.themeSystem}
          </option>
          {themes.map((theme) => (
            <option value={theme} selected={theme === visit.theme}>
              {names[theme]}
            </option>
          ))}
        </select>
      </label>
      <Button kind="small" label={nav.apply} />
    </form>
  );
};
