import type { Locale } from "../../../../shared/locales.ts";
import { de } from "./de.ts";
import { type AdminMessages, en } from "./en.ts";
import { es } from "./es.ts";
import { fr } from "./fr.ts";
import { it } from "./it.ts";
import { ja } from "./ja.ts";
import { ptBR } from "./pt-BR.ts";
import { ru } from "./ru.ts";

export const adminCatalogues: Record<Locale, AdminMessages> = { en, es, fr, de, ru, "pt-BR": ptBR, ja, it };

const of =
  <Area extends keyof AdminMessages>(area: Area) =>
  (locale: Locale): AdminMessages[Area] =>
    adminCatalogues[locale][area];

export const frameMessages = of("frame");
export const overviewMessages = of("overview");
export const inboxMessages = of("inbox");
export const submissionsMessages = of("submissions");
export const surveysMessages = of("surveys");
export const peopleMessages = of("people");
export const dataMessages = of("data");
export const generalMessages = of("general");
export const brandMessages = of("brand");
export const labelsMessages = of("labels");
export const originsMessages = of("origins");
export const apiKeysMessages = of("apiKeys");
export const identifyMessages = of("identify");
export const webhooksMessages = of("webhooks");
export const agentsMessages = of("agents");
export const mailSettingsMessages = of("mail");
export const limitsMessages = of("limits");
export const setupMessages = of("setup");

export type FrameMessages = AdminMessages["frame"];
export type OverviewMessages = AdminMessages["overview"];
export type InboxMessages = AdminMessages["inbox"];
export type SubmissionsMessages = AdminMessages["submissions"];
export type SurveysMessages = AdminMessages["surveys"];
export type PeopleMessages = AdminMessages["people"];
export type DataMessages = AdminMessages["data"];
export type BrandMessages = AdminMessages["brand"];
export type LabelsMessages = AdminMessages["labels"];
export type IdentifyMessages = AdminMessages["identify"];
export type WebhooksMessages = AdminMessages["webhooks"];
export type AgentsMessages = AdminMessages["agents"];
export type MailSettingsMessages = AdminMessages["mail"];
export type LimitsMessages = AdminMessages["limits"];
export type SetupMessages = AdminMessages["setup"];
