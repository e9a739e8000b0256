import { Icon } from "../../components/icon.tsx";
import { adminPath, organizationPath } from "../../paths.ts";
import { adminPage } from "./admin-page.tsx";
import { areas } from "./areas.ts";

const next = ["general", "apiKeys", "people", "surveys", "import"] as const;

/** The page after the setup. */
export const welcome = adminPage({
  area: "overview",
  path: "/welcome",
  view: (_none, { visit }, frame) => {
    const words = visit.messages.admin.setup;
    return {
      title: words.welcome,
      content: (
        <>
          <p>{words.welcomeText}</p>
          <ul class="steps">
            <li>
              <a class="card" href={`${organizationPath(frame.organization)}/`}>
                <Icon name="external-link" />
                {words.steps.board}
              </a>
            </li>
            {next.map((area) => (
              <li>
                <a class="card" href={adminPath(visit, areas[area].path)}>
                  <Icon name={areas[area].icon} />
                  {words.steps[area]}
                </a>
              </li>
            ))}
          </ul>
        </>
      ),
    };
  },
});
