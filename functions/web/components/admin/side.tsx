import type { AdminFrame } from "../../../_shared/statements/admin-frame.ts";
import type { Frame } from "../../../_shared/statements/pages.ts";
import { type AreaGroup, type AreaName, areas, isAtLeast } from "../../pages/admin/areas.ts";
import { adminPath, organizationPath } from "../../paths.ts";
import { useVisit } from "../../rendering.ts";
import { Icon } from "../icon.tsx";

type Props = { area: AreaName; admin: AdminFrame; frame: Frame };

const groups: AreaGroup[] = ["work", "data", "settings"];

/** The navigation of the dashboard. On a phone it opens by its button. */
export const AdminSide = ({ area: current, admin, frame }: Props) => {
  const visit = useVisit();
  const words = visit.messages.admin.frame;
  const shown = Object.entries(areas).filter(([, { role }]) => isAtLeast(admin.role, role));
  return (
    <div class="side">
      <details class="side-menu" id="side-menu">
        <summary class="button">
          <Icon name="menu" />
          {words.areas[current]}
        </summary>
        <div class="side-items">
          {admin.organizations.length > 1 && (
            <details class="switcher" id="switcher" data-island="menu">
              <summary class="button">
                <span class="unseen">{words.organization + words.colon}</span>
                <span class="switcher-name">{frame.organization?.name}</span>
                <Icon name="chevron-down" />
              </summary>
              <ul>
                {admin.organizations.map((other) => (
                  <li>
                    <a
                      href={`${organizationPath({ ...frame.organization, ...other } as Frame["organization"])}/admin${areas[current].path}`}
                      aria-current={other.slug === frame.organization?.slug ? "true" : undefined}
                    >
                      {other.name}
                    </a>
                  </li>
                ))}
              </ul>
            </details>
          )}
          <nav aria-label={words.dashboard}>
            {groups.map((group) => {
              const items = shown.filter(([, area]) => area.group === group);
              return (
                items.length > 0 && (
                  <>
                    {group !== "work" && (
                      <h2 id={`side-${group}`} class="side-title">
                        {words.groups[group]}
                      </h2>
                    )}
                    <ul aria-labelledby={group === "work" ? undefined : `side-${group}`}>
                      {items.map(([name, { path, icon }]) => (
                        <li>
                          <a href={adminPath(visit, path)} aria-current={name === current ? "page" : undefined}>
                            <Icon name={icon} />
                            <span>{words.areas[name as AreaName]}</span>
                            {name === "inbox" && admin.waiting_count > 0 && (
                              <span class="badge" id="waiting-count">
                                <span class="unseen">{words.waiting + words.colon}</span>
                                {admin.waiting_count > 99 ? "99+" : admin.waiting_count}
                              </span>
                            )}
                          </a>
                        </li>
                      ))}
                    </ul>
                  </>
                )
              );
            })}
          </nav>
        </div>
      </details>
    </div>
  );
};
