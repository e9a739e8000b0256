import { counter } from "../../plural.ts";
import type { OverviewMessages } from "./en.ts";

const count = counter("ru");

export const ru: OverviewMessages = {
  title: "Обзор",
  time: "Период",
  days: count({ one: "# день", few: "# дня", other: "# дней" }),
  year: "12 месяцев",
  otherTime: "Другой период",
  from: "Первый день",
  to: "Последний день",
  show: "Показать",
  compared: (now: string, before: string) => `${now}, по сравнению с ${before}`,
  totals: {
    submissions: "Предложения",
    votes: "Голоса",
    comments: "Комментарии",
    active_people: "Активные люди",
  },
  reply: "Первый официальный ответ",
  replied: count({
    one: "медиана по # предложению",
    few: "медиана по # предложениям",
    other: "медиана по # предложениям",
  }),
  unreplied: "ответов не было",
  overTime: "По времени",
  intervals: {
    day: "День",
    week: "Неделя с",
    month: "Месяц с",
  },
  movers: "Больше всего новых голосов",
  noMovers: "За это время никто не голосовал.",
  submission: "Предложение",
  status: "Статус",
  category: "Категория",
  source: "Источник",
  votes: "Голоса",
  gained: "Прирост",
  byStatus: "Предложения по статусу",
  byCategory: "Предложения по категориям",
  bySource: "Предложения по источникам",
  noCategory: "Без категории",
  noSource: "Этот сайт",
};
