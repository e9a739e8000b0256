import type { MailSettingsMessages } from "./en.ts";

export const ptBR: MailSettingsMessages = {
  title: "E-mail",
  text: "O que as pessoas recebem por e-mail se não escolherem outra coisa. Cada uma escolhe em Configurações, E-mail, ou pelos links de cada mensagem.",
  enabled: "As pessoas recebem e-mails do que acontece aqui",
  enabledHint: "Cada pessoa escolhe o que recebe e pode parar.",
  usedUp: "Os e-mails de hoje para endereços não confirmados se esgotaram: os demais irão no próximo resumo.",
  kinds: {
    status: "Um novo status do que enviaram ou seguem",
    official: "Uma resposta oficial",
    reply: "Uma resposta ao seu comentário",
    comment: "Outros comentários no que seguem",
    survey: "Uma pesquisa que a equipe pede que respondam",
    team: "Para a equipe: novas contribuições",
  },
  save: "Salvar",
  stopped: "Quem não recebe e-mail",
  stoppedText:
    "Mais recentes primeiro, no máximo 1.000. Os endereços são guardados só como hash: procure um endereço completo.",
  email: "Endereço de e-mail",
  find: "Procurar",
  name: "Nome",
  noAccount: "Sem conta",
  reason: "Motivo",
  reasons: {
    refused: "Não quer e-mails",
    bounced: "O servidor recusou",
    complained: "Denunciou como spam",
  },
  since: "Desde",
  nobody: "Ninguém.",
  notStopped: "Esta organização não parou os e-mails para este endereço.",
  lift: "Enviar de novo",
  liftHint:
    "Só para uma caixa que voltou a funcionar. Quem recusou e-mails muda isso por conta própria. Procure primeiro o endereço sem conta.",
  done: {
    saved: "As configurações foram salvas.",
    lifted: "A pessoa volta a receber e-mails.",
  },
};
