import type { z } from "zod";
import type { SubmissionStatus, submissionType } from "../../../shared/submissions.ts";
import type { surveyStatus } from "../../../shared/surveys.ts";

/** The parts of a text that are separated by commas. */
export const listed = (text: string): string[] => text.split(/,\s+/);

/**
 * Prefixes of words (in Japanese: parts of the text) for a value of an argument, in all locales. The longest
 * match wins.
 */
export const wordsOfValue: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  type: {
    idea: "idea, idee, idée, ideia, ide, иде, アイデア, アイディア, 要望, feature request",
    problem: `problem, bug, issue, fehler, problème, проблем, ошибк, баг, erro, 問題, 不具合, バグ, errore, fallo`,
  },
  status: {
    open: "open, offen, abiert, ouvert, открыт, abert, apert, 未対応, 未解決, オープン",
    under_review: `under review, in review, reviewing, in prüfung, en revisión, à l'étude, en cours d'examen,
      на рассмотрении, em análise, em revisão, 検討中, レビュー中, in revisione, in esame`,
    planned: `planned, geplant, planificad, planead, planifié, prévu, запланирован, planejad, 予定, 計画中,
      pianificat, in programma`,
    in_progress: `in progress, in arbeit, en progreso, en curso, en cours, в работе, в процессе, em andamento,
      em progresso, 対応中, 進行中, 作業中, in corso, in lavorazione`,
    completed: `completed, complete, done, shipped, finished, erledigt, fertig, abgeschlossen, completad, terminad,
      hecho, terminé, fait, выполнен, завершен, завершён, готово, concluíd, feit, 完了, 対応済み, completat,
      fatt`,
    declined: `declined, rejected, abgelehnt, rechazad, refusé, rejeté, отклонен, отклонён, recusad, rejeitad, 却下,
      見送り, rifiutat, respint`,
    draft: "draft, entwurf, entwürfe, borrador, brouillon, чернов, rascunho, 下書き, bozz",
    published: `published, live, running, active, veröffentlicht, laufen, aktiv, publicad, activ, en marcha, publié,
      en ligne, опубликован, активн, ativ, no ar, 公開中, 公開済み, 実施中, pubblicat, attiv`,
    paused: "paused, pausiert, pausad, en pausa, en pause, приостановлен, 一時停止, 停止中, in pausa, sospes",
    archived: "archived, archiviert, archivad, archivé, архив, arquivad, アーカイブ, archiviat",
  },
  sentiment: {
    positive: `positive, happy, satisfied, positiv, zufrieden, positiv, content, положительн, довольн, 肯定的,
      ポジティブ, 好意的`,
    neutral: "neutral, neutr, нейтральн, 中立, ニュートラル",
    negative: `negative, unhappy, dissatisfied, critical, negativ, unzufrieden, négativ, mécontent, отрицательн,
      негативн, недовольн, insatisfeit, 否定的, ネガティブ, 不満`,
  },
  sort: {
    votes: `most voted, most votes, top, popular, meisten stimmen, beliebtest, más votad, más votos, plus votée,
      plus de votes, populaire, наибольшим числом голосов, популярн, больше всего голосов, mais votad,
      mais votos, 投票の多い, 投票が多い, 人気, più votat, più voti`,
    comments: `most comments, most discussed, meisten kommentare, más comentad, plus commenté, обсуждаем,
      mais comentad, コメントの多い, コメントが多い, più commentat`,
  },
} satisfies Record<string, Record<string, string>> & {
  type: Record<z.output<typeof submissionType>, string>;
  status: Record<Exclude<SubmissionStatus, "duplicate"> | z.output<typeof surveyStatus>, string>;
};

/** Words before a date that mark the end of a range, not its start. */
export const untilWords =
  "until, till, before, bis, vor dem, hasta, antes, jusqu, avant, до, até, fino, prima, まで, 以前";
