import { newOrganization, type Organization } from "../api/world.ts";
import { newVisitor, type Person, signedIn, type Visitor } from "./pages.ts";

type Caller = "user" | "member" | "admin" | "owner" | "other tenant's owner";

/** A board and a caller of each kind. */
export type Board = {
  organization: Organization;
  authorId: string;
  people: Record<Caller, Person> & { visitor: Visitor };
};

export async function newBoard(visibility: "public" | "private"): Promise<Board> {
  const [organization, other] = [await newOrganization({ visibility }), await newOrganization()];
  const member = await signedIn({ organization, role: "member" });
  return {
    organization,
    authorId: member.userId,
    people: {
      visitor: newVisitor(),
      user: await signedIn(),
      member,
      admin: await signedIn({ organization, role: "admin" }),
      owner: await signedIn({ organization, role: "owner" }),
      "other tenant's owner": await signedIn({ organization: other, role: "owner" }),
    },
  };
}

/** The status of a page or form; "in" is a redirect to /sign-in. */
export const shown = ({ status, location }: { status: number; location: string | undefined }) =>
  location?.startsWith("/sign-in") ? "in" : String(status);
