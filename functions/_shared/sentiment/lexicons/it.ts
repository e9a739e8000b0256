import type { Source } from "../entries.ts";

export const it: Source = {
  values: [
    [
      3,
      `ador* amo eccellent* ottim* perfett* fantastic* meraviglios* stupend* straordinari* magnific* incredibil* eccezional* spettacolar* favolos* splendid* impeccabil* geniale geniali spacca spaccano bomba una_bomba top il_migliore la_migliore il_massimo
      un_piacere una_meraviglia insuperabil* indispensabil* insostituibil* oltre_le_aspettative super*_le_aspettative super*_le_mie_aspettative non_potrei_piu_farne_a_meno farne_a_meno fare_a_meno dieci_e_lode 10_e_lode`,
    ],
    [
      2,
      `buon buona buone buoni buono bene piace piacciono piaciut* piacevol* consigli* raccomand* facil* facilissim* facilmente semplicissim* semplice_da intuitiv* veloc* velocissim* rapid* fluid* comod* utile utili utilissim* affidabil* stabil* pratic*
      chiar* pulit* bell* bello bella carin* elegant* gentil* cortes* disponibil* efficac* efficient* soddisfatt* soddisfacent* content* felic* grazie complimenti bravi bravissim* migliorat* miglior* miglioramento meglio funziona_bene funziona_benissimo
      funziona_perfettamente funziona_alla_grande va_benissimo va_alla_grande alla_grande benissimo risparmi* risolt* risolv* aiut* finalmente vale_la_pena ne_vale_la_pena niente_male non_male mica_male nessun_problema senza_problemi zero_problemi mai_un_problema mai_avuto_un_problema mai_avuto_problemi
      nulla_da_dire niente_da_dire non_mi_lamento nessuna_lamentela sorpres*_positiv* piacevolmente comodissim* divertent* potent* complet* profession* sicur* fiducia fa_quello_che_promette al_primo_colpo mantiene_le_promesse fico figo figata entusiast* perfeziona* apprezz* in_un_attimo`,
    ],
    [
      1,
      `modern* economic* convenient* interessant* promettent* flessibil* legger* ordinat* curat* accettabil* onest* simpatic* discret*`,
    ],
    [
      0,
      `nella_media niente_di_speciale niente_di_che cosi_cosi ne_bene_ne_male normale fa_il_suo_dovere fa_il_suo_lavoro non_saprei buongiorno buonasera buon_giorno buona_sera grazie_in_anticipo mi_piacerebbe ci_piacerebbe va_bene va_bene_cosi a_volte_funziona a_volte_bene piu_o_meno dipende
      messaggio_di_errore indifferent* senza_infamia_e_senza_lode be_ne sufficiente benche perbene per_bene`,
    ],
    [
      -1,
      `car* costos* limitat* complicat* compless* difficil* scomod* pesant* macchinos* datat* vecchi* antiquat* manca mancano mancan* incomplet* purtroppo peccato troppo troppi troppe attesa attend* aspett* confus* nascost* sovraccaric* lascia_a_desiderare da_migliorare migliorabil* mi_aspettavo_di_piu mi_aspettavo_molto_di_piu`,
    ],
    [
      -2,
      `male malissimo cattiv* brutt* peggio peggior* lent* lentissim* lentezza error* bug bug_* problem* guast* rott* rompe rotto blocca bloccat* bloccan* si_blocca crash* si_chiude si_impalla impallat* si_pianta inutil* inutilizzabil* inservibil* fastidios* frustrant* frustr* delus* deludent* delusion* arrabbiat* stanc* stuf*
      non_funziona non_funzionano non_va non_si_apre non_apre non_carica non_risponde non_rispondono nessuno_risponde nessuna_risposta senza_risposta non_arriva non_arrivano non_trovo non_si_trova non_si_capisce non_capisco non_riesco impossibil* pers* perdit* perso_tutto sparit* scompars* cancellat* disdett* disdir* rimbors*
      addebitat*_due_volte addebit*_due pagato_due_volte troppo_caro troppo_cara troppo_lent* costa_troppo troppo_complicat* non_vale_la_pena non_ne_vale spreco sprec* perdita_di_tempo buttat* soldi_buttati scarso scarsa scarsi scadent* instabil* inaffidabil* caotic* caos disordinat* illeggibil* lament* reclam* maleducat* noios* odios* inaccettabil* scortes* peggiorat* difettos* mal_fatt* incomprensibil*`,
    ],
    [
      -3,
      `odi* orribil* pessim* terribil* schif* disgust* vergogn* truff* ladri furto disastr* orrend* penos* ridicol* patetic* merda cagata porcheria spazzatura un_incubo incubo da_evitare evitate mai_piu inammissibil* uno_schifo`,
    ],
  ],
  negations: "non no ne mai senza nessun nessuna nessuno niente nulla neanche nemmeno neppure nn mica meno poco",
  stronger:
    "molto davvero veramente super troppo tanto proprio assolutamente totalmente completamente estremamente cosi sempre ogni_volta mega iper decisamente parecchio",
  weaker: "un_po abbastanza leggermente quasi a_volte relativamente piuttosto qualche_volta",
  contrasts: "ma pero tuttavia purtroppo peccato sebbene anche_se invece eppure tranne",
  wishes: `per_favore vorrei vorremmo sarebbe sarebbero si_potrebbe potrebbe potreste potrebbero potete si_puo e_possibile piacerebbe sugger* suggerimento aggiung* dovrebbe dovreste propongo come_posso come_si servirebbe magari mi_serve ci_serve`,
  reach: { before: 4, behind: 0 },
};
