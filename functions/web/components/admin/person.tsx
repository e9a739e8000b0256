import type { PropsWithChildren } from "hono/jsx";
import { Avatar } from "../avatar.tsx";

type Props = PropsWithChildren<{ id: string; name: string; avatar: string; email: string | null; href: string }>;

/** A person in a table, with a link to their page. The children follow the name. */
export const Person = ({ id, name, avatar, email, href, children }: Props) => (
  <span class="person">
    <Avatar id={id} name={name} url={avatar} />
    <span>
      <a class="link" href={href}>
        {name}
      </a>
      {children}
      {email && <span class="quiet small person-email">{email}</span>}
    </span>
  </span>
);
