import type { PropsWithChildren } from "hono/jsx";
import { Avatar } from "../avatar.tsx";

type Props = PropsWithChildren<{ name: string; avatar: string | null; email: string | null; href: string }>;

/** A person in a table, with a link to their page. The children follow the name. */
export const Person = ({ name, avatar, email, href, children }: Props) => (
  <span class="person">
    <Avatar name={name} url={avatar} />
    <span>
      <a class="link" href={href}>
        {name}
      </a>
      {children}
      {email && <span class="quiet small person-email">{email}</span>}
    </span>
  </span>
);
