import { randomUUID } from "node:crypto";
import { newOrganization, newUser, type Organization, only } from "../api/world.ts";
import { sql } from "../stack.ts";
import type { Board, Role } from "./expected.ts";

type Person = { id: string; token: string; email: string };

/** Rows of every table about one submission. */
export interface Scene {
  organization_id: string;
  author_id: string;
  submission: string;
  comment: string;
  category: string;
  /** The submission has this tag, but not `otherTag`. */
  tag: string;
  otherTag: string;
  notification: string;
  status_change: string;
  /** Published, without responses. */
  survey: string;
  draft: string;
  /** Question of the draft. */
  question: string;
  option: string;
  /** Published, open, and with the author's response; the moderation state of the submission does not affect it. */
  answered: string;
  answers: { question_id: string; value: number }[];
  response: string;
}

export interface World {
  people: Record<Exclude<Role, "anon">, Person>;
  /** The author of the content on the private board. */
  colleague: Person;
  /** The author of one pending submission. */
  newcomer: Person;
  home: Organization;
  rival: Organization;
  closed: Organization;
  token(role: Role): string | undefined;
  scene(board: Board): Promise<Scene>;
}

export async function makeWorld(): Promise<World> {
  const [home, rival, closed] = await Promise.all([
    newOrganization(),
    newOrganization(),
    newOrganization({ visibility: "private" }),
  ]);
  const [stranger, author, member, admin, rivalAdmin, insider, colleague, newcomer] = await Promise.all([
    newUser("Stranger"),
    newUser("Author"),
    newUser("Member", { organization: home, role: "member" }),
    newUser("Admin", { organization: home, role: "admin" }),
    newUser("Rival", { organization: rival, role: "owner" }),
    newUser("Insider", { organization: closed, role: "member" }),
    newUser("Colleague"),
    newUser("Newcomer"),
  ]);
  const people = { stranger, author, member, admin, rival: rivalAdmin, insider };
  await makeScene(home, newcomer, true);
  return {
    people,
    colleague,
    newcomer,
    home,
    rival,
    closed,
    token: (role) => (role === "anon" ? undefined : people[role].token),
    scene: (board) =>
      makeScene(board === "closed" ? closed : home, board === "closed" ? colleague : author, board === "waiting"),
  };
}

async function makeScene(organization: Organization, author: Person, pending: boolean): Promise<Scene> {
  const tagSlug = () => `t-${randomUUID()}`;
  const organization_id = organization.id;
  const [created] = await sql<Scene[]>`
    with category as (
      insert into categories (organization_id, name, slug) values (${organization_id}, 'Category', ${tagSlug()}) returning id
    ), tag as (
      insert into tags (organization_id, name, slug) values (${organization_id}, 'Tag', ${tagSlug()}) returning id
    ), other_tag as (
      insert into tags (organization_id, name, slug) values (${organization_id}, 'Other tag', ${tagSlug()}) returning id
    ), submission as (
      insert into submissions (organization_id, author_id, title, description, type, moderation_state)
      values (${organization_id}, ${author.id}, 'What the world is about', 'A description that is long enough.', 'idea', ${pending ? "pending" : "approved"})
      returning id
    )
    select ${organization_id} as organization_id, ${author.id} as author_id, submission.id as submission, category.id as category,
      tag.id as tag, other_tag.id as "otherTag" from submission, category, tag, other_tag`;
  const scene = only(created);
  const { submission } = scene;
  const [comment] = await sql<{ id: string }[]>`
    insert into comments (submission_id, author_id, body, moderation_state)
    values (${submission}, ${author.id}, 'Said about it.', ${pending ? "pending" : "approved"}) returning id`;
  scene.comment = only(comment).id;
  await sql`insert into comment_votes (comment_id, user_id) values (${scene.comment}, ${author.id})`;
  await sql`insert into submission_tags values (${organization_id}, ${submission}, ${scene.tag})`;
  const [change] = await sql<{ id: string }[]>`
    insert into status_changes (submission_id, new_status, notify) values (${submission}, 'planned', false) returning id`;
  const [notification] = await sql<{ id: string }[]>`
    insert into notifications (organization_id, user_id, type, submission_id, event_id)
    values (${organization_id}, ${author.id}, 'status_changed', ${submission}, gen_random_uuid()) returning id`;
  return {
    ...scene,
    ...(await makeSurveys(organization_id, author)),
    status_change: only(change).id,
    notification: only(notification).id,
  };
}

async function makeSurveys(organization_id: string, author: Person) {
  const make = async (published: boolean) => {
    const [survey] = await sql<{ id: string }[]>`
      insert into surveys (organization_id, title, allow_multiple_responses) values (${organization_id}, 'What do you think?', true) returning id`;
    const { id } = only(survey);
    await sql`select private.write_questions(${organization_id}, ${id}, '[{"type": "nps", "text": "Would you recommend it?"}]')`;
    if (published) await sql`update surveys set status = 'published' where id = ${id}`;
    const [question] = await sql<{ id: string }[]>`select id from survey_questions where survey_id = ${id}`;
    return { id, question: only(question).id };
  };
  const [survey, draft, answered] = [await make(true), await make(false), await make(true)];
  const [option] = await sql<{ id: string }[]>`
    insert into survey_options (organization_id, survey_id, question_id, text, position)
    values (${organization_id}, ${draft.id}, ${draft.question}, 'Perhaps', 1) returning id`;
  const answers = [{ question_id: answered.question, value: 9 }];
  const [response] = await sql<{ id: string }[]>`
    insert into survey_responses (survey_id, user_id, answers) values (${answered.id}, ${author.id}, ${sql.json(answers)}) returning id`;
  return {
    survey: survey.id,
    draft: draft.id,
    question: draft.question,
    option: only(option).id,
    answered: answered.id,
    answers,
    response: only(response).id,
  };
}
